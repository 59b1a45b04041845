import { OPERATOR_ROLES } from '@relay/identity';
import { Option } from 'commander';

/** `--role`, without which the command is refused. */
export const roleOption = (): Option =>
  new Option('--role <role>', 'viewer: looks; operator: changes too; admin: makes and changes clients too')
    .choices(OPERATOR_ROLES)
    .makeOptionMandatory();
