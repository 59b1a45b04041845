import { addRules, type BodyRule } from './route-rules.decorator.js';

/** What the body of a route may be where it differs from the default: `application/json` of at most 64 KiB. */
export const TakesBody =
  (body: BodyRule): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, { body });
