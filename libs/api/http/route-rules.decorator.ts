import 'reflect-metadata';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { AccessRule, PortalRule } from '@relay/access';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { z } from 'zod';
import { type FastifyRequest, readJson, validate } from './fastify-request.js';

export interface BodyRule {
  /** Media types a body may have, in lower case without parameters. A request without a body needs none. */
  readonly types?: readonly string[];
  /** Header whose presence makes a missing content type mean JSON. */
  readonly jsonBeside?: string;
  readonly maxBytes?: number;
}

interface RouteRules {
  readonly access?: AccessRule;
  /** Access that a portal token must permit; without it the route accepts no portal token. */
  readonly portal?: PortalRule;
  readonly body?: BodyRule;
  /** The handler mostly waits for another party's server. */
  readonly waits?: boolean;
  /** Ignores unknown parameters, and unknown members of a body that no schema of the handler reads. */
  readonly ignoresUnknown?: boolean;
  readonly readsBody?: boolean;
  /** The handler obeys `If-Match`. */
  readonly hasVersions?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteRules {}
}

const RULES = Symbol('relay.rules');

/** Returns the rules that the decorators of a handler have set so far. */
export const rulesOf = (handler: object): RouteRules => (Reflect.getMetadata(RULES, handler) ?? {}) as RouteRules;

/** Adds rules to a handler. The shell reads them from the configuration of the route; the API documents use `rulesOf`. */
function addRules(handler: object, rules: RouteRules): void {
  const all = { ...rulesOf(handler), ...rules };
  Reflect.defineMetadata(RULES, all, handler);
  RouteConfig(all)(handler as () => unknown);
}

const says =
  (rules: RouteRules): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, rules);

/** Lets clients send parameters that the route does not know; other routes refuse them, see `refuseUnknown`. */
export const IgnoresUnknown = (): MethodDecorator => says({ ignoresUnknown: true });
export const HasVersions = (): MethodDecorator => says({ hasVersions: true });
/** Exempts a route from `CallerPlaces`, because its handler waits for another party's server. */
export const Waits = (): MethodDecorator => says({ waits: true });

/**
 * Sets who may call a route, or every route of a controller without a rule of its own. The shell applies the rule before
 * it reads a byte of the body. An app with a route without a rule does not start.
 */
export const Access =
  (access: AccessRule): MethodDecorator & ClassDecorator =>
  (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor !== undefined) return addRules(descriptor.value as object, { access });
    // Decorators of methods run before the decorator of their class.
    for (const handler of handlersOf(target)) if (rulesOf(handler).access === undefined) addRules(handler, { access });
  };

const handlersOf = (controller: object): object[] =>
  Object.values(Object.getOwnPropertyDescriptors((controller as { prototype: object }).prototype))
    .map(({ value }): unknown => value)
    .filter(
      (member): member is object =>
        typeof member === 'function' && Reflect.getMetadata(METHOD_METADATA, member) !== undefined,
    );

/** Lets portal tokens with this access call a route. Without it a route accepts no portal token. */
export const Portal = (portal: PortalRule): MethodDecorator => says({ portal });

/** Sets a body rule that differs from the default, `application/json` of at most 64 KiB. */
export const TakesBody = (body: BodyRule): MethodDecorator => says({ body });

/**
 * Reads the JSON body of the request.
 * @throws ProblemError `malformed-json`, or `invalid-body` with one entry for each invalid member
 */
export type Body<T> = () => T;

/**
 * Injects a reader of the body that validates it by the schema. The handler decides when to read, so that faults of the path and
 * a spent quota are answered before faults of the body.
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
