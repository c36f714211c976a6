/** The option of every command that stands on the user's configuration. */
export const configOption = [
  '--config <file>',
  'module that exports `onefold` (ONEFOLD_CONFIG; default onefold.ts)',
] as const;
