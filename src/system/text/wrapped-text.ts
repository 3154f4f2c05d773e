/** Lines of at most `width` characters; a word that is longer stays whole. */
export function wrapped(text: string, indent = '', hanging = indent, width = 80): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const empty = line.trim() === '';
    if (!empty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging + word;
    } else line += empty ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}
