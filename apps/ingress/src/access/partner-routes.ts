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

/** Declares a controller whose routes need a token of this scope and count for the quota of the partner. */
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

/** Declares a route that portal tokens may read. */
export const Reads = (text: OperationText): MethodDecorator => applyDecorators(Portal('read'), Operation(text));

/** Declares a route that changes a webhook, unless `If-Match` names another version. */
export const Changes = (text: OperationText, status = 200): MethodDecorator =>
  applyDecorators(HasVersions(), Portal('write'), HttpCode(status), Operation(text));

/** Returns the path of the public address, without a slash at its end. */
export const publicPath = ({ PUBLIC_URL }: Pick<IngressConfig, 'PUBLIC_URL'>): string =>
  new URL(PUBLIC_URL).pathname.replace(/\/$/, '');

/** Returns the caller in the form of `relay.operations`: the partner, and the operator who made the portal link, if any. */
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

  /** Reports a change that is made deep within a request, with the caller of the present request, if any. @throws as `report` */
  reportChange(change: ReportedChange): Promise<void> {
    const request = presentRequest();
    return this.report({ ...change, ...(request?.caller && askedBy(request)) });
  }

  /** Reports only actions of operators: a partner views and tests its own webhooks without a record. */
  async reportOperator(request: FastifyRequest, event: OperationsEvent, facts: object): Promise<void> {
    if (callerOf(request).portal?.operator !== undefined) await this.reportAction(request, event, facts);
  }

  /** Reports a portal link without waiting for Kafka, so that a partner's portal opens while Kafka is away. */
  tellLink(request: FastifyRequest, facts: object): void {
    void this.reportAction(request, 'portal.opened', facts).catch((error: unknown) =>
      this.log.warn('portal.untold', 'A partner made a link to its portal, but Kafka did not take the record of it', {
        partnerId: askedBy(request).partnerId,
        reason: reasonOf(error),
      }),
    );
  }
}
