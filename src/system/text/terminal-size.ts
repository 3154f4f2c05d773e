/** In characters; 0 if the terminal does not report it. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * What sh runs to set the size of its terminal; nothing for a terminal that reports size 0. For programs that relay a
 * terminal (`podman exec`, the API server) and set its size only after the command has started: a command that reads it at
 * once would get 0.
 */
export function setSizeCommands({ columns, rows }: TerminalSize): string[] {
  return columns > 0 && rows > 0 ? [`stty cols ${columns} rows ${rows} 2>/dev/null`] : [];
}
