// The self times of a process from its --cpu-prof file, by function and by package.
import { readFileSync } from 'node:fs';
import { root } from '../lib/paths.mjs';

const NOT_WORK = new Set(['(idle)', '(root)']);

/** Shares of the time in which the process did something, inside a window of `now()` milliseconds. */
export function summarise(file, [from, to], units) {
  const { nodes, samples, timeDeltas, startTime } = JSON.parse(readFileSync(file, 'utf8'));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const selfUs = new Map();
  let at = startTime;
  let workUs = 0;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index];
    const lastsUs = timeDeltas[index + 1] ?? 0;
    const frame = frames.get(id);
    if (NOT_WORK.has(frame.functionName) || at < from * 1000 || at > to * 1000) continue;
    workUs += lastsUs;
    selfUs.set(frame, (selfUs.get(frame) ?? 0) + lastsUs);
  }
  const rank = (nameOf, count) => {
    const sums = new Map();
    for (const [frame, us] of selfUs) sums.set(nameOf(frame), (sums.get(nameOf(frame)) ?? 0) + us);
    const sorted = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, count);
    return sorted.map(([name, us]) => ({ name, share: us / workUs, usPerUnit: us / units }));
  };
  return { usPerUnit: workUs / units, packages: rank(packageOf, 12), functions: rank(functionOf, 15) };
}

const placeOf = ({ url }) =>
  decodeURIComponent(url)
    .replace('file://', '')
    .replace(root, '')
    .replace(/^dist\//, '');

function packageOf({ functionName, url }) {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native';
  const place = placeOf({ url });
  const installed = place.split('node_modules/').at(-1);
  if (installed !== place) return installed.split('/', installed.startsWith('@') ? 2 : 1).join('/');
  return place.split('/', 2).join('/');
}

function functionOf({ functionName, url, lineNumber }) {
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name}  ${placeOf({ url }).replace(/^.*node_modules\//, '')}:${lineNumber + 1}`;
}

export function profileLines({ usPerUnit, packages, functions }) {
  const line = ({ name, share, usPerUnit: us }) =>
    `${(share * 100).toFixed(1).padStart(5)} %  ${us.toFixed(1).padStart(6)} µs  ${name}`;
  return [`busy ${usPerUnit.toFixed(0)} µs each`, '', ...packages.map(line), '', ...functions.map(line)];
}
