import { METHOD_METADATA } from '@nestjs/common/constants.js';
import type { AccessRule } from '@relay/access';
import { addRules, rulesOf } from './route-rules.decorator.js';

/**
 * Who may call a route, or each route of a controller that says nothing else. The shell asks before it reads a byte of the body, and
 * starts with no route that does not say it.
 */
export const Access =
  (access: AccessRule): MethodDecorator & ClassDecorator =>
  (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor !== undefined) return addRules(descriptor.value as object, { access });
    // Those of its methods are applied first.
    for (const handler of handlersOf(target)) if (rulesOf(handler).access === undefined) addRules(handler, { access });
  };

const handlersOf = (controller: object): object[] =>
  Object.values(Object.getOwnPropertyDescriptors((controller as { prototype: object }).prototype))
    .map(({ value }): unknown => value)
    .filter(
      (member): member is object =>
        typeof member === 'function' && Reflect.getMetadata(METHOD_METADATA, member) !== undefined,
    );
