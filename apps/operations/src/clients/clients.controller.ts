import { Controller, Get, HttpCode, Inject, Param, Patch, Post, Req } from '@nestjs/common';
import { PortalLinkAnswer, portalLinkOf, PortalLinkRequest, PortalLinks, portalUrl, roleToGrant } from '@relay/access';
import { Audit } from '@relay/audit';
import { Access, type Body, callerOf, type FastifyRequest, StrictBody } from '@relay/http';
import { ClientFacts, clientFacts, IssuedClient, NewClient, OPERATOR_ROLES, TypePatterns } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { z } from 'zod';
import { actorOf, assertRole } from '../access/operator-guard.js';
import { answerOf, type Asked, cursor, listOf, ListQuery, pageOf, textsOf } from '../http/routes.js';
import { ClientDesk } from './client-desk.adapter.js';

const ClientQuery = z.strictObject({
  kind: ClientFacts.shape.kind.optional().describe('Only clients of this kind.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor,
});

const ClientChange = z
  .strictObject({
    role: z.enum(OPERATOR_ROLES).optional().describe('The new role of an operator; other clients have none.'),
    types: TypePatterns.optional(),
  })
  .refine(({ role, types }) => (role === undefined) !== (types === undefined), {
    path: ['role'],
    error: 'role is expected, or types of a source',
  })
  .meta({
    id: 'ClientChange',
    description: 'What is to be changed of a client: one member.',
    minProperties: 1,
    maxProperties: 1,
  });
type ClientChange = z.infer<typeof ClientChange>;

const ClientList = z
  .object({ total: z.int().describe('Without `limit`.'), clients: z.array(ClientFacts) })
  .meta({ id: 'Clients', description: 'Clients, oldest first.' });

const Rotation = z
  .strictObject({
    endsTokens: z
      .boolean()
      .default(false)
      .describe(
        'Whether all earlier secrets and tokens end, within two seconds; otherwise the present secret works until the next rotation.',
      ),
    force: z.boolean().default(false).describe('Rotates although the last rotation was less than 60 s ago.'),
  })
  .meta({ id: 'Rotation', description: 'How a secret is rotated.' });
type Rotation = z.infer<typeof Rotation>;

const Text = textsOf('Clients');
const path = { id: { schema: z.string().max(100).describe('Client id.'), example: 'partner_0Zt1' } };

/** Partners, sources and operators. */
@Controller('clients')
@Access({ kind: 'operator', role: 'admin' })
export class ClientsController {
  constructor(private readonly desk: ClientDesk) {}

  @Get()
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('listClients', 'List partners, sources and operators', {
    query: ClientQuery,
    answer: listOf('The clients.', ClientList),
  })
  async list(@ListQuery(ClientQuery) asked: Asked<z.infer<typeof ClientQuery>>): Promise<z.infer<typeof ClientList>> {
    const wanted = asked.query.kind;
    const found = (await this.desk.list()).filter(({ kind }) => wanted === undefined || kind === wanted);
    return { total: found.length, clients: pageOf(found, asked).map(clientFacts) };
  }

  @Get(':id')
  @Access({ kind: 'operator', role: 'viewer' })
  @Text('readClient', 'Read one client', {
    path,
    answer: answerOf('The client.', ClientFacts),
    problems: ['not-found'],
  })
  async read(@Param('id') id: string): Promise<ClientFacts> {
    return clientFacts(await this.desk.find(id));
  }

  @Post()
  @Text('createClient', 'Create a client', {
    body: { isRequired: true, schema: NewClient, example: { kind: 'partner', name: 'acme' } },
    answer: answerOf('It is created. Its credential is shown this once.', IssuedClient),
  })
  create(@StrictBody(NewClient) body: Body<NewClient>, @Req() request: FastifyRequest): Promise<IssuedClient> {
    return this.desk.create(body(), actorOf(request));
  }

  @Patch(':id')
  @Text('changeClient', 'Change the role of an operator, or the event types of a source', {
    description:
      '`role` or `types`, which replaces the former ones. Within two seconds, also for its open sessions and its tokens: a token keeps those of its scopes that the new role has; a higher role needs a new token. A client that has no such member is a conflict, and so is the last enabled admin, who would leave none.',
    path: { id: { ...path.id, example: 'operator_0Zt1' } },
    body: { isRequired: true, schema: ClientChange, example: { role: 'operator' } },
    answer: answerOf('The changed client.', ClientFacts),
    problems: ['not-found', 'conflict'],
  })
  async change(
    @Param('id') id: string,
    @StrictBody(ClientChange) body: Body<ClientChange>,
    @Req() request: FastifyRequest,
  ): Promise<ClientFacts> {
    const { role, types = [] } = body();
    const by = actorOf(request);
    return clientFacts(
      await (role === undefined ? this.desk.changeTypes(id, types, by) : this.desk.changeRole(id, role, by)),
    );
  }

  @Post(':id/rotate')
  @HttpCode(200)
  @Text('rotateClient', 'Issue a new secret for a client', {
    description:
      'A client that was rotated less than 60 s ago is a conflict unless `force` is true: a repeated call would end a secret in use.',
    path,
    body: { isRequired: false, schema: Rotation, example: { endsTokens: false, force: false } },
    answer: answerOf('The new secret, shown this once.', IssuedClient),
    problems: ['not-found', 'conflict'],
  })
  rotate(
    @Param('id') id: string,
    @StrictBody(Rotation, 'optional') body: Body<Rotation>,
    @Req() request: FastifyRequest,
  ): Promise<IssuedClient> {
    return this.desk.rotate(id, body(), actorOf(request));
  }

  @Post(':id/disable')
  @HttpCode(200)
  @Text('disableClient', 'Disable a client and end its tokens', {
    description: 'Within seconds. The webhooks of a partner still get deliveries. Operators cannot disable themselves.',
    path,
    answer: answerOf('The disabled client.', ClientFacts),
    problems: ['not-found', 'conflict'],
  })
  async disable(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ClientFacts> {
    return clientFacts(await this.desk.disable(id, actorOf(request)));
  }

  @Post(':id/enable')
  @HttpCode(200)
  @Text('enableClient', 'Enable a disabled client', {
    description: 'With its former credentials, within seconds. Its former tokens stay ended.',
    path,
    answer: answerOf('The enabled client.', ClientFacts),
    problems: ['not-found'],
  })
  async enable(@Param('id') id: string, @Req() request: FastifyRequest): Promise<ClientFacts> {
    return clientFacts(await this.desk.enable(id, actorOf(request)));
  }
}

const OperatorsLinkRequest = PortalLinkRequest.extend({
  partnerId: z.string().max(100).describe('Client id of the partner.'),
}).meta({ id: 'OperatorsPortalLinkRequest', description: 'Whom a link lets in, and where.' });

/** Routes by which operators make links to the portal of a partner. */
@Controller('portal')
@Access({ kind: 'operator', role: 'operator' })
export class PortalLinksController {
  constructor(
    private readonly links: PortalLinks,
    private readonly desk: ClientDesk,
    private readonly audit: Audit,
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
  ) {}

  @Post('links')
  @Text('createPortalLink', 'Make a link to the portal of a partner', {
    description:
      'It can be opened once, within `PORTAL_LINK_TTL`. `write` needs the role `admin`, since whoever opens it acts as the partner. `relay.operations` tells who made it, and names that operator with all that is done by it. It ends with the secret of that operator, when the operator is disabled, or without the role.',
    body: { isRequired: true, schema: OperatorsLinkRequest, example: { partnerId: 'partner_0Zt1', access: 'read' } },
    answer: answerOf('The link.', PortalLinkAnswer),
    problems: ['not-found', 'conflict'],
  })
  async create(
    @StrictBody(OperatorsLinkRequest) body: Body<z.infer<typeof OperatorsLinkRequest>>,
    @Req() request: FastifyRequest,
  ): Promise<PortalLinkAnswer> {
    const { partnerId, ...wanted } = body();
    const { access, webhookIds } = wanted;
    const caller = callerOf(request);
    assertRole(caller.scopes, roleToGrant(access));
    const { kind } = await this.desk.find(partnerId);
    if (kind !== 'partner') throw new ProblemError('conflict', 'Only partners have a portal.');
    await this.audit.report({ event: 'portal.opened', ...actorOf(request), partnerId, access, webhookIds });
    const expiresAt = new Date(Date.now() + this.config.PORTAL_LINK_TTL).toISOString();
    const code = await this.links.create(portalLinkOf(partnerId, PortalLinkRequest.parse(wanted), caller));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }
}
