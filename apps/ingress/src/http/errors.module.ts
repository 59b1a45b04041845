import { Controller, Get, Header, Module } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import { errorsPage } from '@relay/problem';
import { operations } from '../documents/documents.module.js';

const PAGE = errorsPage();

/** The page to which the `type` of every problem links. */
@Controller('docs/errors')
@Access({ kind: 'public' })
class ErrorsController {
  @Get()
  @Operation(operations.readErrors)
  @Header('content-type', 'text/markdown; charset=utf-8')
  @Header('cache-control', 'public, max-age=3600')
  page(): string {
    return PAGE;
  }
}

@Module({ controllers: [ErrorsController] })
export class ErrorsModule {}
