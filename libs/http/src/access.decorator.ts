import { METHOD_METADATA } from '@nestjs/common/constants.js';
import type { AccessRule } from '@relay/access';
import { addRules, rulesOf } from './route-rules.decorator.js';

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
