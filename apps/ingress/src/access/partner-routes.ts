import {
  applyDecorators,
  Controller,
  createParamDecorator,
  HttpCode,
  Inject,
  Injectable,
  UseInterceptors,
  type ExecutionContext,
} from '@nestjs/common';
import { Audit, type AskingPartner, type ReportedChange } from '@relay/audit';
import type { OperationsEvent } from '@relay/events';
import {
  Access,
  callerOf,
  HasVersions,
  Portal,
  presentRequest,
  RateLimitInterceptor,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import type { Scope } from '@relay/identity';
import { Operation, type OperationText } from '@relay/openapi';
import { Publisher } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { reasonOf, ThrottledLog } from '@relay/telemetry';

/** Declares a controller whose routes need a token of this scope and are charged to the quota of the partner. */
export const PartnerRoutes = (path: string, scope: Scope = 'webhooks'): ClassDecorator =>
  applyDecorators(Controller(path), Access({ kind: 'bearer', scopes: [scope] }), UseInterceptors(RateLimitInterceptor));

/** A request and its reply. The handler's return value becomes the body. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
export const Exchange = createParamDecorator((_: unknown, context: ExecutionContext): Exchange => {
  const http = context.switchToHttp();
  return { request: http.getRequest<FastifyRequest>(), reply: http.getResponse<FastifyReply>() };
});

/** Declares a route that only reads, so portal tokens may use it too. */
export const Reads = (text: OperationText): MethodDecorator => applyDecorators(Portal('read'), Operation(text));

/**
 * Declares a route that changes a webhook. It supports `If-Match`: if the webhook has another version, the change is
 * refused.
 */
export const Changes = (text: OperationText, status = 200): MethodDecorator =>
  applyDecorators(HasVersions(), Portal('write'), HttpCode(status), Operation(text));

/** Returns the path of the public address, without a slash at its end. */
export const publicPath = ({ PUBLIC_URL }: Pick<IngressConfig, 'PUBLIC_URL'>): string =>
  new URL(PUBLIC_URL).pathname.replace(/\/$/, '');

/**
 * Returns the caller in the form of a `relay.operations` record. The record names the partner, and if an operator made the
 * portal link, the operator.
 */
export function askedBy(request: FastifyRequest): AskingPartner {
  const { clientId: partnerId, portal } = callerOf(request);
  return {
    partnerId,
    requestId: request.id,
    ...(portal?.operator === undefined ? {} : { operator: portal.operator.clientId }),
  };
}

/** Reports actions of partners, and of operators through portal links, on `relay.operations`. */
@Injectable()
export class PartnerAudit extends Audit {
  constructor(
    publisher: Publisher,
    @Inject(INGRESS_CONFIG) { KAFKA_TOPIC_PREFIX }: IngressConfig,
    private readonly log: ThrottledLog,
  ) {
    super(publisher, KAFKA_TOPIC_PREFIX, Date.now);
  }

  /** Reports what the caller is about to do. @throws ProblemError `unavailable` if Kafka does not take the record */
  reportAction(request: FastifyRequest, event: OperationsEvent, facts: object): Promise<void> {
    return this.report({ event, ...askedBy(request), ...facts });
  }

  /**
   * Reports a change that is made deep within a request. If the change belongs to a request, the report names its caller.
   * @throws as `report`
   */
  reportChange(change: ReportedChange): Promise<void> {
    const request = presentRequest();
    return this.report({ ...change, ...(request?.caller && askedBy(request)) });
  }

  /** Reports an action only if an operator does it. A partner may view and test its own webhooks without a record. */
  async reportOperator(request: FastifyRequest, event: OperationsEvent, facts: object): Promise<void> {
    if (callerOf(request).portal?.operator !== undefined) await this.reportAction(request, event, facts);
  }

  /** Reports a portal link without waiting for Kafka, so the portal of a partner opens even if Kafka does not answer. */
  tellLink(request: FastifyRequest, facts: object): void {
    void this.reportAction(request, 'portal.opened', facts).catch((error: unknown) =>
      this.log.warn('portal.untold', 'A partner made a link to its portal, but Kafka did not take the record of it', {
        partnerId: askedBy(request).partnerId,
        reason: reasonOf(error),
      }),
    );
  }
}
