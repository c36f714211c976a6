/** Takes one line of progress for a person: what is being done that takes a while, or what was chosen and why. */
export type Progress = (line: string) => void;
