import { RequestMethod, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  HTTP_CODE_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
} from '@nestjs/common/constants.js';
import { BearerGuard, SCOPES, SourceGuard } from '@relay/access';
import { DEFAULT_TYPES } from '../http/body-rule.js';
import { OPERATION, type OperationText } from '../http/operation.decorator.js';
import { BODY_RULE, type BodyRule } from '../http/takes-body.decorator.js';
import { OAuthErrorFilter } from '../oauth/oauth-error.filter.js';
import { ListingGuard } from '../webhooks/listing.guard.js';

/** Who may call: anyone; a client by Basic; whoever has an access token, or perhaps none; a source by one of its credentials. */
export type Access = 'public' | 'client' | 'bearer' | 'listing' | 'source';

/** One route as its decorators make it. */
export interface Route {
  readonly method: string;
  /** As Nest has it, such as `/webhooks/:id`. */
  readonly path: string;
  readonly status: number;
  readonly access: Access;
  readonly scopes: readonly string[];
  readonly mediaTypes: readonly string[];
  /** Undefined: nobody documented it. */
  readonly text: OperationText | undefined;
}

type Handler = (...args: never[]) => unknown;

/** Every route of these controllers. */
export const routesOf = (controllers: readonly Type[]): Route[] => controllers.flatMap(routesOfController);

function routesOfController(controller: Type): Route[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    const method = handler && (metadata(METHOD_METADATA, handler) as RequestMethod | undefined);
    return handler === undefined || method === undefined ? [] : [routeOf(controller, handler, method)];
  });
}

function routeOf(controller: Type, handler: Handler, method: RequestMethod): Route {
  const nearest = (key: string | symbol): unknown => metadata(key, handler) ?? metadata(key, controller);
  const parts = [metadata(PATH_METADATA, controller), metadata(PATH_METADATA, handler)] as string[];
  const guards = (nearest(GUARDS_METADATA) ?? []) as readonly unknown[];
  const filters = (nearest(EXCEPTION_FILTERS_METADATA) ?? []) as readonly unknown[];
  const access = accessOf(guards, filters);
  const usual = method === RequestMethod.POST ? 201 : 200;
  return {
    method: RequestMethod[method] ?? '',
    path: `/${parts
      .flatMap((part) => part.split('/'))
      .filter((part) => part !== '')
      .join('/')}`,
    status: (metadata(HTTP_CODE_METADATA, handler) as number | undefined) ?? usual,
    access,
    scopes: access === 'source' ? ['deliveries:write'] : ((nearest(SCOPES) ?? []) as readonly string[]),
    mediaTypes: (nearest(BODY_RULE) as BodyRule | undefined)?.types ?? DEFAULT_TYPES,
    text: metadata(OPERATION, handler) as OperationText | undefined,
  };
}

function accessOf(guards: readonly unknown[], filters: readonly unknown[]): Access {
  if (guards.includes(SourceGuard)) return 'source';
  if (guards.includes(ListingGuard)) return 'listing';
  if (guards.includes(BearerGuard)) return 'bearer';
  return filters.includes(OAuthErrorFilter) ? 'client' : 'public';
}

const metadata = (key: string | symbol, target: object): unknown => Reflect.getMetadata(key, target);
