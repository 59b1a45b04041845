// Rows of texts as a table, for the terminal and for Markdown. The first row is the heading.

export const number = (value, digits) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const listOf = (entries) =>
  Object.entries(entries)
    .map(([name, text]) => `- ${name}: ${text}`)
    .join('\n');

export function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const isText = (column) =>
    column < 2 && rows.every((row, index) => index === 0 || Number.isNaN(Number(row[column].replaceAll(',', ''))));
  const cell = (text, column) => (isText(column) ? text.padEnd(widths[column]) : text.padStart(widths[column]));
  return rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n');
}

export function markdownTable(rows, texts = 2) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = rows[0].map((_, column) => (column < texts ? '---' : '---:'));
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)].join('\n');
}
