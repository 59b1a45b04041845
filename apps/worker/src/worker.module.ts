import { Module, type DynamicModule } from '@nestjs/common';
import { CatchUpModule } from './catch-up/catch-up.module.js';
import { FanOutModule } from './fan-out/fan-out.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { QueuedAttemptsModule } from './queued-attempts/queued-attempts.module.js';
import { Shutdown } from './shutdown.js';
import type { WorkerConfig } from '@relay/settings';

/**
 * The whole worker. Each folder has one module, and the modules that are imported here import the others. Timers start in
 * `onApplicationBootstrap`, which Nest calls after `start.ts` has connected to the stores, and stop in `onModuleDestroy`.
 * Classes that must wait for something to end have a `close` method, which `Shutdown` calls. Connections are closed in
 * `onApplicationShutdown`.
 */
@Module({})
export class WorkerModule {
  /** @param fatal ends the process after a fault from which it cannot recover */
  static register(config: WorkerConfig, fatal: (reason: string) => void): DynamicModule {
    return {
      module: WorkerModule,
      imports: [PlatformModule.register(config, fatal), FanOutModule, QueuedAttemptsModule, CatchUpModule],
      providers: [Shutdown],
    };
  }
}
