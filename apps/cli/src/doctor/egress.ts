import { type Finding, ok, warning } from '@relay/doctor';
import { egressOpenings, type OpeningSettings } from '@relay/egress';

/** The egress settings that open private endpoints; development on one machine needs them. */
export function egressFindings(settings: OpeningSettings & { readonly RELAY_ENV: string }): Finding[] {
  const openings = egressOpenings(settings);
  if (openings.length === 0) return [ok('egress', 'endpoints are public addresses by https')];
  if (settings.RELAY_ENV === 'development') return [ok('egress', 'opened, as RELAY_ENV=development needs it')];
  return openings.map((opening) =>
    warning('egress', opening, `unset ${opening.split('=')[0]} for the ingress and the worker, then restart them`),
  );
}
