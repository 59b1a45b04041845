import 'reflect-metadata';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { AccessRule, PortalRule } from '@relay/access';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { z } from 'zod';
import type { FastifyRequest } from './fastify-request.js';
import { readJson, validate } from './read-request.js';

export interface BodyRule {
  /** Media types a body may have, in lower case without parameters. A request without a body needs none. */
  readonly types?: readonly string[];
  /** Header beside which a missing content type means JSON. */
  readonly jsonBeside?: string;
  readonly maxBytes?: number;
}

interface RouteRules {
  readonly access?: AccessRule;
  /** What a portal token must permit; none is taken without it. */
  readonly portal?: PortalRule;
  readonly body?: BodyRule;
  /** The handler waits for somebody else's server and does nothing meanwhile. */
  readonly waits?: boolean;
  /** Parameters that the operation does not know are ignored, and so are members of a body that no schema of the handler reads. */
  readonly ignoresUnknown?: boolean;
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
function addRules(handler: object, rules: RouteRules): void {
  const all = { ...rulesOf(handler), ...rules };
  Reflect.defineMetadata(RULES, all, handler);
  RouteConfig(all)(handler as () => unknown);
}

const says =
  (rules: RouteRules): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, rules);

/** For a route whose clients may send more than it knows. Others refuse that: see `refuseUnknown`. */
export const IgnoresUnknown = (): MethodDecorator => says({ ignoresUnknown: true });
export const HasVersions = (): MethodDecorator => says({ hasVersions: true });
/** For a route whose handler waits for somebody else's server: it takes no place of its caller. */
export const Waits = (): MethodDecorator => says({ waits: true });

/**
 * Who may call a route, or every route of a controller without a rule of its own. The shell applies the rule before it
 * reads a byte of the body; a route without a rule keeps the app from starting.
 */
export const Access =
  (access: AccessRule): MethodDecorator & ClassDecorator =>
  (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor !== undefined) return addRules(descriptor.value as object, { access });
    // Decorators of methods run before that of their class.
    for (const handler of handlersOf(target)) if (rulesOf(handler).access === undefined) addRules(handler, { access });
  };

const handlersOf = (controller: object): object[] =>
  Object.values(Object.getOwnPropertyDescriptors((controller as { prototype: object }).prototype))
    .map(({ value }): unknown => value)
    .filter(
      (member): member is object =>
        typeof member === 'function' && Reflect.getMetadata(METHOD_METADATA, member) !== undefined,
    );

/** Lets portal tokens of this access call a route. Without it a route takes none, whatever the token is for. */
export const Portal = (portal: PortalRule): MethodDecorator => says({ portal });

/** The body rule of a route that differs from the default, `application/json` of at most 64 KiB. */
export const TakesBody = (body: BodyRule): MethodDecorator => says({ body });

/**
 * Reads the JSON body of the request.
 * @throws ProblemError `malformed-json`, or `invalid-body` with one entry for each invalid member
 */
export type Body<T> = () => T;

/**
 * The body of a management request, as its schema says. The handler decides when to read it, so that faults of the path and a
 * spent quota are reported before faults of the body.
 * @param presence `optional`: a request without a body counts as one with an empty object
 */
export const StrictBody = (schema: z.ZodType, presence: 'required' | 'optional' = 'required'): ParameterDecorator => {
  const read = createParamDecorator((_data: unknown, context: ExecutionContext): Body<unknown> => {
    const { rawBody } = context.switchToHttp().getRequest<FastifyRequest>();
    return () => validate(schema, presence === 'optional' && rawBody === undefined ? {} : readJson(rawBody));
  })();
  return (controller, name, index) => {
    if (name !== undefined) addRules((controller as Record<string | symbol, object>)[name] ?? {}, { readsBody: true });
    read(controller, name, index);
  };
};
