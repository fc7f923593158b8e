/* sync_folder.h - writes the names of files to the disk. */
#ifndef RMC_SYNC_FOLDER_H
#define RMC_SYNC_FOLDER_H

/* Writes the folder of the file `path` to the disk: only then does a new name outlast
 * a power failure.  Cuts `path` off after the folder. */
void rmc_sync_folder(char *path);

#endif
