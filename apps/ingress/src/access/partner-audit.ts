import type { AskingPartner, Audit } from '@relay/audit';
import type { OperationsEvent } from '@relay/events';
import type { FastifyRequest } from '@relay/http';
import { callerOf } from '@relay/http';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

/** Who asks, as `relay.operations` names them: the partner, and the operator by whose link to the portal it is asked. */
export function askedBy(request: FastifyRequest): AskingPartner {
  const { clientId: partnerId, portal } = callerOf(request);
  return {
    partnerId,
    requestId: request.id,
    ...(portal?.operator === undefined ? {} : { operator: portal.operator.clientId }),
  };
}

/** Tells on `relay.operations` what partners do, and operators by links to their portals. */
export class PartnerAudit {
  constructor(
    private readonly audit: Pick<Audit, 'report'>,
    private readonly log: Pick<ThrottledLog, 'warn'>,
  ) {}

  /** To be called before it is done. @throws ProblemError `unavailable` when Kafka does not take the record */
  report(request: FastifyRequest, event: OperationsEvent, facts: object): Promise<void> {
    return this.audit.report({ event, ...askedBy(request), ...facts });
  }

  /** The same of an operator alone: a partner may look at its own, and test it, without a record. */
  async reportOperator(request: FastifyRequest, event: OperationsEvent, facts: object): Promise<void> {
    if (callerOf(request).portal?.operator !== undefined) await this.report(request, event, facts);
  }

  /** Does not wait for Kafka: the portal of a partner opens while Kafka is away. */
  tellLink(request: FastifyRequest, facts: object): void {
    void this.report(request, 'portal.opened', facts).catch((error: unknown) =>
      this.log.warn('portal.untold', 'A partner made a link to its portal, but Kafka did not take the record of it', {
        partnerId: askedBy(request).partnerId,
        reason: reasonOf(error),
      }),
    );
  }
}
