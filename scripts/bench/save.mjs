// Results as files.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export function save(name, content) {
  const file = resolve(name);
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text.endsWith('\n') ? text : `${text}\n`);
  if (file.endsWith('.json')) console.log(`JSON: ${file}`);
}
