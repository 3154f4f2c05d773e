/**
 * Files of a home that programs of the host read, or that others than sessions use. Each would leave its name in the user's
 * runtime directory, which containers do not have.
 *
 * @param runtime the runtime directory
 * @returns text of each by its path below the home; `->` begins the target of a symbolic link
 */
export function homeFiles(runtime: string): Readonly<Record<string, string>> {
  const canary = (name: string): string => `/usr/bin/touch ${runtime}/canary-${name}`;
  const unit = (name: string): string => `[Service]\nExecStart=${canary(name)}\n`;
  const dropIn = (name: string): string => `[Service]\nExecStartPre=${canary(name)}\n`;
  const units = '.config/systemd/user';
  return {
    [`${units}/unit.service`]: `[Service]\nExecStart=/bin/sh -c '${canary('unit')}; exec sleep 1000'\n`,
    [`${units}/default.target.wants/unit.service`]: '->../unit.service',
    [`${units}/basic.target.wants/unit.service`]: '->../unit.service',
    [`${units}/timers.target.wants/unit.timer`]: '[Timer]\nOnStartupSec=0\n',
    [`${units}/dbus.service.d/own.conf`]: dropIn('bus-drop-in'),
    [`${units}/service.d/own.conf`]: dropIn('any-drop-in'),
    '.local/share/systemd/user/data.service': unit('data-unit'),
    '.local/share/systemd/user/default.target.wants/data.service': '->../data.service',
    '.config/systemd/user.conf': '[Manager]\nManagerEnvironment=CANARY_MANAGER=1\n',
    '.config/environment.d/own.conf': 'CANARY_VARIABLE=1\n',
    '.local/share/dbus-1/services/org.example.Canary.service': `[D-BUS Service]\nName=org.example.Canary\nExec=${canary('bus-service')}\n`,
    '.config/autostart/canary.desktop': `[Desktop Entry]\nType=Application\nName=canary\nExec=${canary('autostart')}\n`,
    '.config/user-tmpfiles.d/own.conf': `f ${runtime}/canary-tmpfiles\n`,
    '.config/containers/systemd/own.container': `[Container]\nImage=a\nPodmanArgs=$(${canary('quadlet')})\n[Install]\nWantedBy=default.target\n`,
    '.config/containers/containers.conf': `[engine]\nconmon_path=["${runtime}/canary"]\n`,
    '.pam_environment': 'CANARY_PAM DEFAULT=1\n',
    '.forward': `|${canary('forward')}\n`,
    '.ssh/rc': `${canary('rc')}\n`,
    '.ssh/environment': 'CANARY_SSH=1\n',
    '.profile': `${canary('profile')}\n`,
    '.bash_profile': `${canary('bash_profile')}\n`,
    '.bashrc': `${canary('bashrc')}\n`,
    '.zshenv': `${canary('zshenv')}\n`,
    '.gnupg/gpg-agent.conf': `pinentry-program ${runtime}/canary\n`,
  };
}
