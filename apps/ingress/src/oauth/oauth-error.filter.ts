import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from '@relay/http';
import { OAuthError, type OAuthErrorBody } from './oauth-error.js';

@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter {
  catch(error: OAuthError, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .status(error.status)
      .headers({ ...error.headers, pragma: 'no-cache' })
      .send({ error: error.code, error_description: error.description } satisfies OAuthErrorBody);
  }
}
