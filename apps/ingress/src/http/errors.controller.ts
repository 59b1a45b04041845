import { Controller, Get, Header } from '@nestjs/common';
import { errorsPage } from '@relay/problem';

const PAGE = errorsPage();

/** Where the `type` of every problem points to. */
@Controller('docs/errors')
export class ErrorsController {
  @Get()
  @Header('content-type', 'text/markdown; charset=utf-8')
  @Header('cache-control', 'public, max-age=3600')
  page(): string {
    return PAGE;
  }
}
