// npm run audit [-- --required]: the advisories that npm knows for the packages of the image, as package-lock.json has them. Nothing is
// installed. A registry that keeps none (a mirror, no network) is said to have answered nothing; `--required` makes that a failure.
import { Fault, run, script } from './lib/process.mjs';
import { root } from './lib/paths.mjs';

const LIMIT_MS = 60_000;

await script(async (signal) => {
  const isRequired = process.argv.includes('--required');
  const report = await reportOf(signal);
  if (report.auditReportVersion === undefined) {
    console.log(`NOT CHECKED: the registry answers no advisories (${report.message ?? 'it said nothing'})`);
    return isRequired ? 1 : 0;
  }
  // A package that merely depends on such a package names it instead of an advisory.
  const advisories = Object.values(report.vulnerabilities).flatMap(({ via }) => via.filter((one) => one.url));
  for (const { name, range, severity, title, url } of advisories)
    console.log(`${severity.padEnd(8)}  ${name} ${range}: ${title} (${url})`);
  console.log(`advisories: ${advisories.length}, for ${report.metadata.dependencies.prod} packages`);
  return advisories.length > 0 ? 1 : 0;
});

/** npm's exit code is 1 for advisories and for faults alike. */
async function reportOf(signal) {
  const args = ['audit', '--omit=dev', '--package-lock-only', '--json', '--no-update-notifier'];
  const options = { cwd: root, signal, timeoutMs: LIMIT_MS, stdio: ['ignore', 'pipe', 'ignore'] };
  const printed = await run('npm', args, { capture: true, ...options }).catch((error) => error.output ?? '');
  signal.throwIfAborted();
  try {
    return JSON.parse(printed);
  } catch {
    throw new Fault(`npm audit printed no JSON: ${printed.slice(0, 500)}`);
  }
}
