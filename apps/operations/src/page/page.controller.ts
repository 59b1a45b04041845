import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Access, type FastifyReply, type FastifyRequest } from '@relay/http';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { z } from 'zod';
import { textsOf } from '../http/routes.js';

const Text = textsOf('Session');

/** The page for operators. Its files hold no data, so anyone may read them. */
@Controller()
@Access({ kind: 'public' })
export class PageController {
  readonly #page = new Page('console');

  @Get()
  @Text('readHome', 'The console', {
    description: 'The page for operators. Whatever it shows or does is a call of this API.',
    answer: { description: 'The page.', mediaType: 'text/html', content: { schema: z.string() } },
    problems: ['not-found'],
  })
  async document(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return sent(await this.#page.document(), reply);
  }

  @Get('files/:name')
  @Text('readPageFile', 'A file of the console', {
    path: { name: { schema: z.string().max(100).describe('As the page names it.'), example: 'main-5F2KQ7ZD.js' } },
    answer: { description: 'Its bytes.', mediaType: 'text/javascript', content: { schema: z.string() } },
    problems: ['not-found'],
  })
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
