import 'reflect-metadata';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { AccessRule, PortalRule } from '@relay/access';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { z } from 'zod';
import { type FastifyRequest, readJson, validate } from './fastify-request.js';

export interface BodyRule {
  /** Media types that a body may have, in lower case without parameters. A request without a body needs no media type. */
  readonly types?: readonly string[];
  /** Name of a header. If the request has this header and no content type, its body is read as JSON. */
  readonly jsonBeside?: string;
  readonly maxBytes?: number;
}

interface RouteRules {
  readonly access?: AccessRule;
  /** Access that a portal token must permit. A route without this rule accepts no portal token. */
  readonly portal?: PortalRule;
  readonly body?: BodyRule;
  /** Whether the handler mostly waits for a server of another party. */
  readonly waits?: boolean;
  /** Whether the route accepts unknown parameters, and unknown members of a body that no schema of the handler reads. */
  readonly ignoresUnknown?: boolean;
  readonly readsBody?: boolean;
  /** Whether the handler obeys `If-Match`. */
  readonly hasVersions?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteRules {}
}

const RULES = Symbol('relay.rules');

/** Returns the rules that the decorators of a handler have set so far. */
export const rulesOf = (handler: object): RouteRules => (Reflect.getMetadata(RULES, handler) ?? {}) as RouteRules;

/**
 * Adds rules to a handler. The shell reads the rules from the route's configuration, and the API documents from `rulesOf`.
 */
function addRules(handler: object, rules: RouteRules): void {
  const all = { ...rulesOf(handler), ...rules };
  Reflect.defineMetadata(RULES, all, handler);
  RouteConfig(all)(handler as () => unknown);
}

const says =
  (rules: RouteRules): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, rules);

/** Lets clients send parameters that the route does not know. Other routes refuse such parameters (`refuseUnknown`). */
export const IgnoresUnknown = (): MethodDecorator => says({ ignoresUnknown: true });
export const HasVersions = (): MethodDecorator => says({ hasVersions: true });
/** Exempts a route from `CallerPlaces`, because its handler waits for a server of another party. */
export const Waits = (): MethodDecorator => says({ waits: true });

/**
 * Sets who may call a route, or all routes of a controller that have no such rule of their own. The shell applies the rule
 * before it reads a byte of the body. An app does not start if one of its routes has no rule.
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

/** Lets portal tokens with this access call a route. A route without this decorator accepts no portal token. */
export const Portal = (portal: PortalRule): MethodDecorator => says({ portal });

/** Sets a rule for the body. Without it, a body is `application/json` and has at most 64 KiB. */
export const TakesBody = (body: BodyRule): MethodDecorator => says({ body });

/**
 * Reads the JSON body of the request.
 * @throws ProblemError `malformed-json`, or `invalid-body` with one entry for each invalid member
 */
export type Body<T> = () => T;

/**
 * Injects a function that reads the body and validates it by the schema. The handler decides when to call the function, so
 * that invalid paths and a used-up quota are answered before an invalid body.
 * @param presence `optional` means that a request without a body is treated as a request with an empty object
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
