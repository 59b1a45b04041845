const WIDTH = 120;

/** JSON with each object and array on one line where it fits. */
export const jsonText = (value: unknown): string => `${textOf(value, '', 0)}\n`;

/** @param lead characters before the value on its line, beside the indentation */
function textOf(value: unknown, indent: string, lead: number): string {
  // Line breaks within strings are escaped.
  const flat = JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');
  if (indent.length + lead + flat.length < WIDTH || typeof value !== 'object' || value === null) return flat;
  const inner = `${indent}  `;
  const members = Array.isArray(value)
    ? value.map((member) => textOf(member, inner, 0))
    : Object.entries(value).map(([name, member]) => {
        const key = `${JSON.stringify(name)}: `;
        return key + textOf(member, inner, key.length);
      });
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${members.map((member) => inner + member).join(',\n')}\n${indent}${close}`;
}
