import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Access, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { readHome, readPageFile } from './page.openapi.js';

/** The page for operators. It holds no data: its files are for anyone, what they show is not. */
@Controller()
@Access({ kind: 'public' })
export class PageController {
  readonly #page = new Page('console');

  @Get()
  @Operation(readHome)
  async document(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return sent(await this.#page.document(), reply);
  }

  @Get('files/:name')
  @Operation(readPageFile)
  async file(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return sent(await this.#page.file(name, request.headers['accept-encoding']?.toString()), reply);
  }
}

/** @throws ProblemError `not-found` */
function sent(served: Served | undefined, reply: FastifyReply): Buffer {
  if (served === undefined)
    throw new ProblemError('not-found', 'There is no such file of the console, or the console was not built.');
  void reply.headers(served.headers);
  return served.bytes;
}
