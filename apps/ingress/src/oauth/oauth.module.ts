import { Module } from '@nestjs/common';
import { IssuedTokensController } from './issued-tokens.controller.js';
import { MetadataController } from './metadata.controller.js';
import { TokenController } from './token.controller.js';

@Module({ controllers: [TokenController, IssuedTokensController, MetadataController] })
export class OAuthModule {}
