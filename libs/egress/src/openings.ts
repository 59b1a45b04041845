/** The variables of contract section 7 that open the egress for development. */
export interface OpeningSettings {
  readonly EGRESS_ALLOW_HTTP: boolean;
  readonly EGRESS_ALLOW_CIDRS: readonly string[];
}

/** A warning for each variable that opens what is closed by default; a process says them at its start. */
export function egressOpenings({ EGRESS_ALLOW_HTTP, EGRESS_ALLOW_CIDRS }: OpeningSettings): string[] {
  return [
    ...(EGRESS_ALLOW_HTTP
      ? ['EGRESS_ALLOW_HTTP=true: credentials and payloads may be sent unencrypted; for development only']
      : []),
    ...(EGRESS_ALLOW_CIDRS.length > 0
      ? [
          `EGRESS_ALLOW_CIDRS=${EGRESS_ALLOW_CIDRS.join(',')}: endpoints may reach these addresses; for development only`,
        ]
      : []),
  ];
}
