import { addRules, type BodyRule } from './route-rules.decorator.js';

/** The body rule of a route that differs from the default, `application/json` of at most 64 KiB. */
export const TakesBody =
  (body: BodyRule): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, { body });
