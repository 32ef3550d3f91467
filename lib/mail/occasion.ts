/** The occasions on which a user gets mail: with a link by which a password is set, or a notice of what has changed. */
export const OCCASIONS = ['reset', 'invitation', 'passwordChanged', 'emailChanged'] as const;
export type Occasion = (typeof OCCASIONS)[number];
export type LinkOccasion = 'reset' | 'invitation';
export type NoticeOccasion = Exclude<Occasion, LinkOccasion>;
