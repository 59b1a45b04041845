import { RouteConfig } from '@nestjs/platform-fastify';

export interface BodyRule {
  /** Media types a body may have, in lower case without parameters. A request without a body needs none. */
  readonly types?: readonly string[];
  /** Longest body, in bytes. */
  readonly maxBytes?: number;
}

/** What the body of a route may be where it differs from the default: `application/json` of at most 64 KiB. */
export const TakesBody = (rule: BodyRule): MethodDecorator & ClassDecorator => RouteConfig({ body: rule });
