import { parseSigningKeys } from '@relay/access';
import { kafkaEnv, processEnv, redisEnv, tokenEnv } from '@relay/config';
import { examine, type Finding, ok, orFault, summaryOf, warning } from '@relay/doctor';
import { egressOpenings, type OpeningSettings } from '@relay/egress';
import { proxyWarning } from '@relay/http';
import { IngressEnv, WorkerEnv } from '@relay/settings';
import type { Command } from 'commander';
import { answer, counted, documented, settingsOf, table, type Shell } from '../shell.js';
import { keyringOf, withKafka, withRedis } from '../stores.adapter.js';

const FIXES = {
  worker: 'correct it, or unset it for its default: no worker starts with it',
  ingress: 'correct it, or unset it for its default: no ingress starts with it',
};

const { RELAY_ENV } = processEnv;
const { RETRY_SCHEDULE, ...worker } = WorkerEnv.shape;
const sendingEnv = {
  EGRESS_PORTS: worker.EGRESS_PORTS,
  EGRESS_ALLOW_HTTP: worker.EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS: worker.EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS: worker.EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX: worker.EGRESS_NAT64_PREFIX,
  EGRESS_PROXY_URL: worker.EGRESS_PROXY_URL,
};
const { TRUST_PROXY } = IngressEnv.shape;

export function defineDoctor(command: Command, shell: Shell): void {
  command.action(async (options: { json?: boolean }) => {
    const findings = await checkAll(shell);
    const summary = summaryOf(findings);
    if (!summary.healthy) shell.exitCode = 1;
    answer(shell, options, summary, findingsText(findings));
  });
  documented(command, 'doctor');
}

/** Checks Redis, Kafka, the keys, and those settings of workers and ingresses that this environment contains. */
export async function checkAll(shell: Shell): Promise<Finding[]> {
  const stores = examine(
    {
      redis: (work) => withRedis(shell, work, 'global'),
      kafka: (work) => withKafka(shell, work),
    },
    {
      environment: () => settingsOf(shell, { RELAY_ENV }).RELAY_ENV,
      keyring: () => keyringOf(shell),
      signingKeys: () =>
        parseSigningKeys(settingsOf(shell, { JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS }).JWT_PRIVATE_KEYS),
      wire: () => settingsOf(shell, { RELAY_ENV, ...kafkaEnv, ...redisEnv }),
    },
  );
  const settings = [
    orFault('egress', FIXES.worker, () => egressFindings(settingsOf(shell, { RELAY_ENV, ...sendingEnv }))),
    orFault('proxy', FIXES.ingress, () => [proxyFinding(settingsOf(shell, { TRUST_PROXY }).TRUST_PROXY)]),
    orFault('retries', FIXES.worker, () => {
      settingsOf(shell, { RETRY_SCHEDULE });
      return [ok('retries', 'RETRY_SCHEDULE can be read')];
    }),
  ];
  return (await Promise.all([stores, ...settings])).flat();
}

/**
 * Warns of each egress setting that allows more than public HTTPS endpoints. Development needs them, so it gets no warning.
 */
export function egressFindings(settings: OpeningSettings & { readonly RELAY_ENV: string }): Finding[] {
  const openings = egressOpenings(settings);
  if (openings.length === 0) return [ok('egress', 'endpoints are public addresses by https')];
  if (settings.RELAY_ENV === 'development') return [ok('egress', 'opened, as RELAY_ENV=development needs it')];
  return openings.map((opening) =>
    warning('egress', opening, `unset ${opening.split('=')[0]} for the ingress and the worker, then restart them`),
  );
}

/** Warns if callers can forge the IP address by which their rate limits are counted. */
export function proxyFinding(trusted: boolean | number | string): Finding {
  const warned = proxyWarning(trusted);
  return warned === undefined
    ? ok('proxy', 'callers cannot choose the address they are known by')
    : warning('proxy', warned, 'set TRUST_PROXY to the addresses of the gateway, or to the number of proxies');
}

export function findingsText(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ state, check, text, fix }) => {
    const row = [state, check, text];
    return fix === undefined ? [row] : [row, ['', '', `fix: ${fix}`]];
  });
  const { faults, warnings } = summaryOf(findings);
  const found = `${faults === 0 ? 'no fault' : counted(faults, 'fault')} found`;
  return `${table(rows)}\n${found}${warnings === 0 ? '' : `, ${counted(warnings, 'warning')}`}`;
}
