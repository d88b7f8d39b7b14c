/**
 * @file   image.cu
 * @brief  RGB -> Graustufen, danach 5x5-Gauß-Filter
 * @author praktikum gruppe 7
 */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char uchar;

/** Grauwert = 0.299 R + 0.587 G + 0.114 B */
__global__ void RgbToGrey(const uchar *pRgb, uchar *pGrey, int iWidth, int iHeight, int iPitchRgb, int iPitchGrey)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x < iWidth && y < iHeight)
  {
    uchar r = pRgb[y * iPitchRgb + 3 * x];
    uchar g = pRgb[y * iPitchRgb + 3 * x + 1];
    uchar b = pRgb[y * iPitchRgb + 3 * x + 2];
    pGrey[y * iPitchGrey + x] = (uchar)(0.299 * r + 0.587 * g + 0.114 * b + 0.5);
  }
}

/** Gauß-Filter, am Rand wird der letzte Wert wiederholt */
__global__ void Gauss5x5(const uchar *pSrc, uchar *pDst, int iWidth, int iHeight, int iPitch)
{
  const int aiMask[5] = { 1, 4, 6, 4, 1 };
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= iWidth || y >= iHeight)
    return;

  int iSum = 0;
  int iWeight = 0;
  for (int dy = -2; dy <= 2; dy++)
  {
    for (int dx = -2; dx <= 2; dx++)
    {
      int xx = min(max(x + dx, 0), iWidth - 1);
      int yy = min(max(y + dy, 0), iHeight - 1);
      iSum += aiMask[dx + 2] * aiMask[dy + 2] * pSrc[yy * iPitch + xx];
      iWeight += aiMask[dx + 2] * aiMask[dy + 2];
    }
  }
  pDst[y * iPitch + x] = (uchar)(iSum / iWeight);
}

int main(int argc, char **argv)
{
  int iWidth = 637, iHeight = 421;
  size_t nPitchRgb, nPitch;
  uchar *pRgb = (uchar *)malloc(3 * iWidth * iHeight), *pOut = (uchar *)malloc(iWidth * iHeight);
  uchar *pdRgb, *pdGrey, *pdOut;

  /* Testbild: Verlauf mit Schachbrett */
  for (int y = 0; y < iHeight; y++)
    for (int x = 0; x < iWidth; x++)
      for (int c = 0; c < 3; c++)
        pRgb[3 * (y * iWidth + x) + c] = (uchar)(((x / 20 + y / 20) & 1) ? (x * (c + 1)) % 256 : 255 - y % 256);

  cudaMallocPitch((void **)&pdRgb, &nPitchRgb, 3 * iWidth, iHeight);
  cudaMallocPitch((void **)&pdGrey, &nPitch, iWidth, iHeight);
  cudaMallocPitch((void **)&pdOut, &nPitch, iWidth, iHeight);
  cudaMemcpy2D(pdRgb, nPitchRgb, pRgb, 3 * iWidth, 3 * iWidth, iHeight, cudaMemcpyHostToDevice);

  dim3 block(16, 16);
  dim3 grid((iWidth + block.x - 1) / block.x, (iHeight + block.y - 1) / block.y);
  RgbToGrey<<<grid, block>>>(pdRgb, pdGrey, iWidth, iHeight, (int)nPitchRgb, (int)nPitch);
  Gauss5x5<<<grid, block>>>(pdGrey, pdOut, iWidth, iHeight, (int)nPitch);

  cudaMemcpy2D(pOut, iWidth, pdOut, nPitch, iWidth, iHeight, cudaMemcpyDeviceToHost);
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess)
  {
    fprintf(stderr, "Fehler: %s\n", cudaGetErrorString(err));
    return 1;
  }

  FILE *f = fopen(argc > 1 ? argv[1] : "out.pgm", "wb");
  if (!f)
  {
    perror("out.pgm");
    return 1;
  }
  fprintf(f, "P5\n%d %d\n255\n", iWidth, iHeight);
  fwrite(pOut, 1, iWidth * iHeight, f);
  fclose(f);

  cudaFree(pdRgb);
  cudaFree(pdGrey);
  cudaFree(pdOut);
  free(pRgb);
  free(pOut);
  return 0;
}
