import { Controller, Get, Header } from '@nestjs/common';
import { Access } from '@relay/http';
import { errorsPage } from '@relay/problem';
import { readErrors } from '../documents/documents.openapi.js';
import { Operation } from '@relay/openapi';

const PAGE = errorsPage();

/** The page that the `type` of every problem links to. */
@Controller('docs/errors')
@Access({ kind: 'public' })
export class ErrorsController {
  @Get()
  @Operation(readErrors)
  @Header('content-type', 'text/markdown; charset=utf-8')
  @Header('cache-control', 'public, max-age=3600')
  page(): string {
    return PAGE;
  }
}
