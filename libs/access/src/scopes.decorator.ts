import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { Scope } from '@relay/identity';

export const SCOPES = Symbol('relay.scopes');

/** Names the scopes that a token must carry, all of them, for a route or a whole controller; read by BearerGuard. */
export const Scopes = (...scopes: Scope[]): CustomDecorator<symbol> => SetMetadata(SCOPES, scopes);
