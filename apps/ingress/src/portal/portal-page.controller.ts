import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Access, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Operation } from '@relay/openapi';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { readPortal, readPortalFile } from './portal.openapi.js';

/** The page of the portal. */
@Controller('portal')
@Access({ kind: 'public' })
export class PortalPageController {
  constructor(private readonly page: Page) {}

  @Get()
  @Operation(readPortal)
  async document(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return sent(await this.page.document(), reply);
  }

  @Get('files/:name')
  @Operation(readPortalFile)
  async file(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return sent(await this.page.file(name, String(request.headers['accept-encoding'])), reply);
  }
}

function sent(served: Served | undefined, reply: FastifyReply): Buffer {
  if (served === undefined) throw new ProblemError('not-found', 'There is no such file.');
  void reply.headers(served.headers);
  return served.bytes;
}
