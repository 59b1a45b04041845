import { applyDecorators, SetMetadata } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';

export interface BodyRule {
  /** Media types a body may have, in lower case without parameters. A request without a body needs none. */
  readonly types?: readonly string[];
  /** Longest body, in bytes. */
  readonly maxBytes?: number;
}

/** Metadata of a handler: its BodyRule, for the documents. */
export const BODY_RULE = Symbol('relay.body');

/** What the body of a route may be where it differs from the default: `application/json` of at most 64 KiB. */
export const TakesBody = (rule: BodyRule): MethodDecorator & ClassDecorator =>
  applyDecorators(RouteConfig({ body: rule }), SetMetadata(BODY_RULE, rule));
