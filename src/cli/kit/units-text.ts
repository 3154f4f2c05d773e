/** In the admin's time zone, as `loginctl` and `who` show it. */
export function localTime(epoch: number): string {
  const at = new Date(epoch * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `40s`, `5m`, `3h05m`, `2d4h`; `-` without a terminal. */
export function shortTime(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${minutes}m`;
  if (seconds < 86_400) return `${hours}h${String((minutes ?? 0) % 60).padStart(2, '0')}m`;
  return `${days}d${(hours ?? 0) % 24}h`;
}

/** CPU time as ps(1) shows it: `0:07`, `1:02:03`. */
export function clockTime(total: number): string {
  const seconds = Math.floor(total);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}

/** As `du -h` shows it. */
export function sizeText(bytes: number): string {
  const units = ['K', 'M', 'G', 'T'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)}${units[unit] ?? ''}`;
}
