/////////////////////////////////////////////////////////////////////////
// FIR filter: out[i] = sum_k taps[k] * in[i + k]
// input window and taps are staged in dynamic shared memory
/////////////////////////////////////////////////////////////////////////
#include <algorithm>
#include <iostream>
#include <vector>
#include <cmath>

extern __shared__ float smem [];

__global__ void fir_kernel( const float* in, const float* taps, float* out, int n_out, int n_taps )
{
   float* window = smem;
   float* coeff  = smem + blockDim.x + n_taps - 1;

   const int first = blockIdx.x * blockDim.x;
   const int n_in  = n_out + n_taps - 1;

   // load window (block + halo)
   for( int k = threadIdx.x; k < blockDim.x + n_taps - 1; k += blockDim.x )
   {
      if( first + k < n_in )
         window[ k ] = in[ first + k ];
      else
         window[ k ] = 0.f;
   }
   __syncthreads( );

   // load taps
   for( int k = threadIdx.x; k < n_taps; k += blockDim.x )
      coeff[ k ] = taps[ k ];
   __syncthreads( );

   float acc = 0.f;
   for( int k = 0; k < n_taps; k++ )
      acc += coeff[ k ] * window[ threadIdx.x + k ];
   __syncthreads( );

   if( first + threadIdx.x < n_out )
      out[ first + threadIdx.x ] = acc;
}

int main( )
{
   const int n_out = 100000, n_taps = 63, n_in = n_out + n_taps - 1;

   std::vector< float > in( n_in ), taps( n_taps ), out( n_out );
   for( int i = 0; i < n_in; i++ )   in[ i ] = std::sin( 0.01f * i ) + 0.1f * std::sin( 2.3f * i );
   for( int k = 0; k < n_taps; k++ ) taps[ k ] = ( 0.5f - 0.5f * std::cos( 6.2831853f * k / ( n_taps - 1 ) ) ) / 31.f;

   float *d_in, *d_taps, *d_out;
   cudaMalloc( &d_in,   n_in   * sizeof( float ) );
   cudaMalloc( &d_taps, n_taps * sizeof( float ) );
   cudaMalloc( &d_out,  n_out  * sizeof( float ) );
   cudaMemcpy( d_in,   in.data( ),   n_in   * sizeof( float ), cudaMemcpyHostToDevice );
   cudaMemcpy( d_taps, taps.data( ), n_taps * sizeof( float ), cudaMemcpyHostToDevice );

   int block = 256;
   int grid  = ( n_out + block - 1 ) / block;
   size_t shared_bytes = ( block + n_taps - 1 + n_taps ) * sizeof( float );
   fir_kernel<<< grid, block, shared_bytes >>>( d_in, d_taps, d_out, n_out, n_taps );

   cudaError_t status = cudaMemcpy( out.data( ), d_out, n_out * sizeof( float ), cudaMemcpyDeviceToHost );
   if( status != cudaSuccess )
   {
      std::cerr << "fir: " << cudaGetErrorString( status ) << std::endl;
      return 1;
   }

   double worst = 0.0;
   for( int i = 0; i < n_out; i++ )
   {
      double want = 0.0;
      for( int k = 0; k < n_taps; k++ )
         want += (double) taps[ k ] * in[ i + k ];
      worst = std::max( worst, std::fabs( want - out[ i ] ) );
   }
   std::cout << "max error " << worst << std::endl;

   cudaFree( d_in ); cudaFree( d_taps ); cudaFree( d_out );
   return worst < 1e-5 ? 0 : 1;
}
