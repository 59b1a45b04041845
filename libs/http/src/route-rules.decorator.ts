import 'reflect-metadata';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { AccessRule, PortalRule } from '@relay/access';

export interface BodyRule {
  /** Media types a body may have, in lower case without parameters. A request without a body needs none. */
  readonly types?: readonly string[];
  /** Header beside which a missing content type means JSON. */
  readonly jsonBeside?: string;
  /** Longest body, in bytes. */
  readonly maxBytes?: number;
}

/** The rules of a route for the shell. */
export interface RouteRules {
  readonly access?: AccessRule;
  /** What a portal token must permit; none is taken without it. */
  readonly portal?: PortalRule;
  readonly body?: BodyRule;
  /** The handler waits for somebody else's server and does nothing meanwhile. */
  readonly waits?: boolean;
  /** Parameters that the operation does not know are ignored, and so are members of a body that no schema of the handler reads. */
  readonly ignoresUnknown?: boolean;
  /** The handler reads the body by a schema. */
  readonly readsBody?: boolean;
  /** The handler obeys `If-Match`. */
  readonly hasVersions?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteRules {}
}

const RULES = Symbol('relay.rules');

/** What a handler's decorators have said so far. */
export const rulesOf = (handler: object): RouteRules => (Reflect.getMetadata(RULES, handler) ?? {}) as RouteRules;

/** Adds rules to a handler: the shell reads them from the configuration of the route, the documents by `rulesOf`. */
export function addRules(handler: object, rules: RouteRules): void {
  const all = { ...rulesOf(handler), ...rules };
  Reflect.defineMetadata(RULES, all, handler);
  RouteConfig(all)(handler as () => unknown);
}

const rule =
  (rules: RouteRules) =>
  (): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, rules);

/** For a route whose clients may send more than it knows. Others refuse that: see `refuseUnknown`. */
export const IgnoresUnknown = rule({ ignoresUnknown: true });
/** For a route whose handler obeys `If-Match`. */
export const HasVersions = rule({ hasVersions: true });
/** For a route whose handler waits for somebody else's server: it takes no place of its caller. */
export const Waits = rule({ waits: true });
