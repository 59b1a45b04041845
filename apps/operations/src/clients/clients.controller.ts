import { Controller, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import {
  Access,
  callerIdOf,
  type Body,
  type FastifyReply,
  type FastifyRequest,
  readQuery,
  StrictBody,
} from '@relay/http';
import { clientFacts, type ClientFacts, type IssuedClient, NewClient } from '@relay/identity';
import { Operation } from '@relay/openapi';
import type { z } from 'zod';
import { pageOf } from '../http/cursor.js';
import { type AskedBy, ClientDesk } from './client-desk.adapter.js';
import { ClientChange, type ClientList, ClientQuery, Rotation } from './client-request.js';
import {
  changeClient,
  createClient,
  disableClient,
  enableClient,
  listClients,
  readClient,
  rotateClient,
} from './clients.openapi.js';

/** Partners, sources and operators. */
@Controller('clients')
@Access({ kind: 'operator', role: 'admin' })
export class ClientsController {
  constructor(private readonly desk: ClientDesk) {}

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(listClients)
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof ClientList>> {
    const asked = readQuery(ClientQuery, query);
    const found = (await this.desk.list()).filter(({ kind }) => asked.kind === undefined || kind === asked.kind);
    return { total: found.length, clients: pageOf(found, asked, request, reply).map(clientFacts) };
  }

  @Get(':id')
  @Access({ kind: 'operator', role: 'viewer' })
  @Operation(readClient)
  async read(@Param('id') id: string): Promise<ClientFacts> {
    return clientFacts(await this.desk.find(id));
  }

  @Post()
  @Operation(createClient)
  create(@StrictBody(NewClient) body: Body<NewClient>, @Req() request: FastifyRequest): Promise<IssuedClient> {
    return this.desk.create(body(), byOf(request));
  }

  @Patch(':id')
  @Operation(changeClient)
  async change(
    @Param('id') id: string,
    @StrictBody(ClientChange) body: Body<ClientChange>,
    @Req() request: FastifyRequest,
  ): Promise<ClientFacts> {
    return clientFacts(await this.desk.changeRole(id, body().role, byOf(request)));
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @Operation(rotateClient)
  rotate(
    @Param('id') id: string,
    @StrictBody(Rotation, 'optional') body: Body<Rotation>,
    @Req() request: FastifyRequest,
  ): Promise<IssuedClient> {
    return this.desk.rotate(id, body(), byOf(request));
  }

  @Post(':id/disable')
  @HttpCode(200)
  @Operation(disableClient)
  async disable(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ClientFacts> {
    return clientFacts(await this.desk.disable(id, byOf(request)));
  }

  @Post(':id/enable')
  @HttpCode(200)
  @Operation(enableClient)
  async enable(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ClientFacts> {
    return clientFacts(await this.desk.enable(id, byOf(request)));
  }
}

const byOf = (request: FastifyRequest): AskedBy => ({ operator: callerIdOf(request), requestId: request.id });
