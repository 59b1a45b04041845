import { destinationEnv } from '@relay/config';
import { checkDestination, egressPolicy } from '@relay/egress';
import { settingsOf } from './settings.js';
import type { Shell } from './shell.js';

/** Whether a worker with the settings of this command delivers to a URL. */
export function checkedDestination(shell: Shell, url: string): ReturnType<typeof checkDestination> {
  const settings = settingsOf(shell, destinationEnv);
  const policy = egressPolicy({
    ports: settings.EGRESS_PORTS,
    allowHttp: settings.EGRESS_ALLOW_HTTP,
    allowCidrs: settings.EGRESS_ALLOW_CIDRS,
    denyCidrs: settings.EGRESS_DENY_CIDRS,
    nat64Prefix: settings.EGRESS_NAT64_PREFIX,
  });
  return checkDestination(url, policy);
}
