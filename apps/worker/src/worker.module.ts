import { Module, type DynamicModule } from '@nestjs/common';
import { CatchUpModule } from './catch-up/catch-up.module.js';
import { FanOutModule } from './fan-out/fan-out.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { QueuedAttemptsModule } from './queued-attempts/queued-attempts.module.js';
import { Shutdown } from './shutdown.js';
import type { WorkerConfig } from '@relay/settings';

/**
 * The whole worker: one module for each folder, over the platform. The modules imported here import the others. Timers begin in
 * `onApplicationBootstrap`, which Nest calls when `start.ts` has found the stores, and end in `onModuleDestroy`. A part that must
 * wait for something to end has a `close` in `Shutdown`; connections end in `onApplicationShutdown`.
 */
@Module({})
export class WorkerModule {
  /** @param fatal ends the process when it cannot recover */
  static register(config: WorkerConfig, fatal: (reason: string) => void): DynamicModule {
    return {
      module: WorkerModule,
      imports: [PlatformModule.register(config, fatal), FanOutModule, QueuedAttemptsModule, CatchUpModule],
      providers: [Shutdown],
    };
  }
}
