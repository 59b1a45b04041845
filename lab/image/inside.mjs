// The part of npm run test:image that runs in namespaces of its own: base, build, checks. Exit code 1 when a check fails.
import { readFileSync } from 'node:fs';
import { checked } from '../lib/checks.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { script } from '../../scripts/lib/process.mjs';
import { base } from './base.mjs';
import { buildDev, devChecks } from './dev.mjs';
import { fileChecks } from './files.mjs';
import { labelsOf, manifestChecks } from './manifest.mjs';
import { mounts } from './npm-settings.mjs';
import { podman as podmanIn } from './podman.mjs';
import { programChecks } from './programs.mjs';
import { roleChecks } from './roles.mjs';

const IMAGE = 'localhost/partner-relay:test';

await script(async () => {
  const task = JSON.parse(readFileSync(process.argv[2], 'utf8'));
  const podman = podmanIn(task.home);
  const { name, said } = await base(podman, task.home);
  console.log(`base: ${said}`);
  const labels = labelsOf(task.revision);
  const since = Date.now();
  const args = [
    '--format=docker', // the OCI's has no HEALTHCHECK
    '--pull=never',
    ...mounts(task.npm),
    `--build-arg=NODE_IMAGE=${name}`,
    ...Object.entries(labels.args).map(([key, value]) => `--build-arg=${key}=${value}`),
    root,
  ];
  await podman.build([`--tag=${IMAGE}`, ...args]);
  await buildDev(podman, args);
  console.log(
    `built in ${Math.round((Date.now() - since) / 1000)} s with ${(await podman.call(['--version'])).trim()}`,
  );

  const [config] = JSON.parse(await podman.call(['image', 'inspect', IMAGE]));
  const files = (await podman.call(['image', 'mount', IMAGE])).trim();
  const subject = { ...task, podman, image: IMAGE, config, files, labels };
  const checks = Object.entries({ ...manifestChecks, ...fileChecks, ...programChecks, ...roleChecks, ...devChecks });
  return await checked(Object.fromEntries(checks.map(([what, check]) => [what, () => check(subject)])));
});
