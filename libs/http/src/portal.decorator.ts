import type { PortalRule } from '@relay/access';
import { addRules } from './route-rules.decorator.js';

/** Lets portal tokens of this access call a route. Without it a route takes none, whatever the token is for. */
export const Portal =
  (portal: PortalRule): MethodDecorator =>
  (_controller, _name, { value: handler }) =>
    addRules(handler as object, { portal });
