import type { Type } from '@nestjs/common';
import { openApi, routesOf, type ApiFacts } from '@relay/openapi';
import { operationsApi } from './operations-api.js';

/** OpenAPI of these controllers. @param facts the public address is that of the ingress */
export const documentBytes = (controllers: readonly Type[], facts: ApiFacts): Buffer =>
  Buffer.from(JSON.stringify(openApi(routesOf(controllers), facts, operationsApi(facts.publicUrl))));
