import { RequestMethod, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { AccessRule, PortalRule } from '@relay/access';
import { DEFAULT_TYPES, rulesOf } from '@relay/http';
import { scopeOfRole } from '@relay/identity';
import { OPERATION, type OperationText } from './operation.decorator.js';

/** One route, read from its decorators. */
export interface Route {
  readonly method: string;
  /** In Nest's form, such as `/webhooks/:id`. */
  readonly path: string;
  readonly status: number;
  readonly access: AccessRule['kind'];
  readonly scopes: readonly string[];
  /** Access that a portal token must permit; undefined if the route accepts no portal token. */
  readonly portal: PortalRule | undefined;
  readonly mediaTypes: readonly string[];
  /** Whether the handler obeys `If-Match`. */
  readonly hasVersions: boolean;
  /** Undefined for an undocumented route. */
  readonly text: OperationText | undefined;
}

type Handler = (...args: never[]) => unknown;

/** Returns every route of these controllers. */
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
  const { access = { kind: 'public' }, body, portal, hasVersions = false } = rulesOf(handler);
  const parts = [metadata(PATH_METADATA, controller), metadata(PATH_METADATA, handler)] as string[];
  const usual = method === RequestMethod.POST ? 201 : 200;
  return {
    method: RequestMethod[method] ?? '',
    path: `/${parts
      .flatMap((part) => part.split('/'))
      .filter((part) => part !== '')
      .join('/')}`,
    status: (metadata(HTTP_CODE_METADATA, handler) as number | undefined) ?? usual,
    access: access.kind,
    scopes: scopesOf(access),
    portal,
    mediaTypes: body?.types ?? DEFAULT_TYPES,
    hasVersions,
    text: metadata(OPERATION, handler) as OperationText | undefined,
  };
}

function scopesOf(access: AccessRule): readonly string[] {
  if (access.kind === 'source') return ['deliveries:write'];
  if (access.kind === 'operator') return [scopeOfRole(access.role)];
  return 'scopes' in access ? access.scopes : [];
}

const metadata = (key: string | symbol, target: object): unknown => Reflect.getMetadata(key, target);
