// The version is package.json's. Other files repeat it for tools that read nothing else; a spec holds them against it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';

/** Each file with what finds the version in it, and nothing but the version. docs/*.json follow by `npx node scripts/docs.mjs`. */
const PLACES = [
  ['package.json', /(?<=^ {2}"version": ")[^"]+/gm],
  ['package-lock.json', /(?<=^ +"name": "partner-relay",\n +"version": ")[^"]+/gm],
  ['libs/client/package.json', /(?<=^ {2}"version": ")[^"]+/gm],
  ['libs/config/src/version.ts', /(?<=RELAY_VERSION = ')[^']+/g],
  ['Dockerfile', /(?<=^ARG VERSION=).+/gm],
  ['docker-compose.yml', /(?<=RELAY_VERSION:-)[^}]+/g],
  ['charts/partner-relay/Chart.yaml', /(?<=^(?:version|appVersion): ).+/gm],
];

export const readVersion = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;

/** Every mention of the version as `file: version`; a file that has none is there with an empty one. */
export const mentions = () =>
  PLACES.flatMap(([file, pattern]) => {
    const found = readFileSync(join(root, file), 'utf8').match(pattern) ?? [''];
    return found.map((version) => ({ file, version }));
  });

export function writeVersion(version) {
  for (const [file, pattern] of PLACES) {
    const path = join(root, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(pattern, version));
  }
}
