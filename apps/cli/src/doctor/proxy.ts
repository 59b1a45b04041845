import { type Finding, ok, warning } from '@relay/doctor';
import { proxyWarning } from '@relay/http';

/** Whether callers can forge the address that their limits count by. */
export function proxyFinding(trusted: boolean | number | string): Finding {
  const warned = proxyWarning(trusted);
  return warned === undefined
    ? ok('proxy', 'callers cannot choose the address they are known by')
    : warning('proxy', warned, 'set TRUST_PROXY to the addresses of the gateway, or to the number of proxies');
}
