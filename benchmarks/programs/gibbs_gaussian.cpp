// Collapsed Gibbs sampling (Neal 2000, algorithm 3) of a Dirichlet process mixture of Gaussians in D dimensions with
// normal-Wishart base measure N(m | mu, (kappa Lambda)^-1) W(Lambda | Psi^-1, nu): mu is the same in all coordinates,
// and Psi = scale I.
//
//   g++ -O3 -march=native -ffast-math -DD=6 gibbs_gaussian.cpp -o gibbs_gaussian
//   gibbs_gaussian DATA LABELS SWEEPS BURN SEED ALPHA MU KAPPA SCALE NU
//
// DATA is a file of n D doubles; LABELS is a file of n int64, the clusters at the start.  It reports CPU time per 1000 sweeps, the mean number of clusters after BURN sweeps, and the
// share of items that change their cluster in a sweep.
//
// A cluster keeps its mean m, lower triangular W with W' W = Psi_n^-1, and log constants.  Items come in order; each is
// taken out of its cluster and put back, which changes W by a rank-one formula in O(D^2).  Clusters stand L by L side
// by side, so that one instruction works on L of them; -DL=1 puts them one after another instead.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <vector>

#ifndef D
#define D 2
#endif

#ifndef L
#if defined(__AVX512F__) && D < 12
#define L 8
#else
#define L 4
#endif
#endif

constexpr int T = D * (D + 1) / 2;
typedef double Lanes __attribute__((vector_size(L * sizeof(double))));

struct Block {
    Lanes mean[D];
    Lanes W[T];                           // by rows
    Lanes log_det;                        // of Psi_n
    Lanes count;
};

static double alpha, mu, kappa, scale, nu;
static std::vector<double> X;             // items one after another
static std::vector<int64_t> z;            // names of their clusters
static int64_t K;                         // number of clusters
static std::vector<double> constant_of;   // log count and the part of the log constant that depends on the count alone
static std::vector<Block> blocks;         // clusters without gaps: the last one fills the place of one that dies
static std::vector<double> constant, half, ratio, weight;
static std::vector<int64_t> place, name;  // place of a named cluster, and name of the cluster at a place
static std::vector<int64_t> free_names;

// One cluster: a lane of a block.
struct Cluster {
    double* first;
    double& mean(int j) const { return first[j * L]; }
    double& W(int k) const { return first[(D + k) * L]; }
    double& log_det() const { return first[(D + T) * L]; }
    double& count() const { return first[(D + T + 1) * L]; }
};

static inline Cluster cluster(int64_t k) { return {reinterpret_cast<double*>(&blocks[k / L]) + k % L}; }

// kappa_n / (kappa_n + 1) times |W (x - m)|^2 for the clusters of a block.
static inline void distances(const Block& block, const double* x, Lanes* result)
{
    Lanes u[D], total{};
#pragma GCC unroll 64
    for (int j = 0; j < D; j++) u[j] = x[j] - block.mean[j];
#pragma GCC unroll 64
    for (int i = 0; i < D; i++) {
        Lanes y = block.W[i * (i + 1) / 2] * u[0];
#pragma GCC unroll 64
        for (int j = 1; j <= i; j++) y += block.W[i * (i + 1) / 2 + j] * u[j];
        total += y * y;
    }
    *result *= total;
}

static void set_constants(int64_t k)
{
    Cluster c = cluster(k);
    double n = c.count(), kappa_n = kappa + n;
    constant[k] = constant_of[int64_t(n)] - 0.5 * c.log_det();
    half[k] = 0.5 * (nu + n + 1);
    ratio[k] = kappa_n / (kappa_n + 1);
}

// Psi_n changes by w v v', v = x - m.  With y = W v and s_i = 1 + w (y_1^2 + ... + y_i^2), row i of W becomes
//     sqrt(s_(i-1) / s_i) W_i - w y_i / sqrt(s_(i-1) s_i) (y_1 W_1 + ... + y_(i-1) W_(i-1)).
static void change(int64_t place, const double* x, double sign)
{
    Cluster c = cluster(place);
    double kappa_n = kappa + c.count(), w = sign * kappa_n / (kappa_n + sign), s = 1;
    double u[D], row[D], before[D] = {};
    for (int j = 0; j < D; j++) u[j] = x[j] - c.mean(j);
#pragma GCC unroll 64
    for (int i = 0; i < D; i++) {
        double y = 0;
        for (int j = 0; j <= i; j++) {
            row[j] = c.W(i * (i + 1) / 2 + j);
            y += row[j] * u[j];
        }
        double next = s + w * y * y, root = 1 / std::sqrt(s * next), keep = s * root, take = w * y * root;
        for (int j = 0; j <= i; j++) {
            c.W(i * (i + 1) / 2 + j) = keep * row[j] - take * before[j];
            before[j] += y * row[j];
        }
        s = next;
    }
    for (int j = 0; j < D; j++) c.mean(j) += u[j] * (sign / (kappa_n + sign));
    c.log_det() += std::log(s);
    c.count() += sign;
    set_constants(place);
}

static void copy(int64_t from, int64_t to)
{
    Cluster source = cluster(from), target = cluster(to);
    for (int k = 0; k < D + T + 2; k++) target.first[k * L] = source.first[k * L];
    set_constants(to);
}

static void empty(int64_t place)
{
    Cluster c = cluster(place);
    for (int i = 0; i < D; i++) {
        c.mean(i) = mu;
        for (int j = 0; j <= i; j++) c.W(i * (i + 1) / 2 + j) = i == j ? 1 / std::sqrt(scale) : 0;
    }
    c.log_det() = D * std::log(scale);
    c.count() = 0;
    set_constants(place);
}

// Room for n clusters, and full blocks of empty ones.
static void grow(int64_t n)
{
    int64_t old = name.size(), size = (n + L - 1) / L * L;
    blocks.resize(size / L);
    for (auto* values : {&constant, &half, &ratio, &weight}) values->resize(size);
    name.resize(size);
    place.resize(size);
    for (int64_t k = old; k < size; k++) {
        free_names.push_back(k);
        empty(k);
    }
}

static void form_anew()
{
    for (int64_t k = 0; k < K; k++) empty(k);
    for (size_t i = 0; i < z.size(); i++) change(place[z[i]], &X[i * D], 1);
}

static void take_out(int64_t i)
{
    int64_t k = place[z[i]];
    if (cluster(k).count() > 1) {
        change(k, &X[i * D], -1);
        return;
    }
    K--;
    if (k != K) {
        copy(K, k);
        name[k] = name[K];
        place[name[k]] = k;
    }
    free_names.push_back(z[i]);
    empty(K);
}

// Place of a cluster drawn for an item that is in none.  The cluster at place K has no items: the new one.
static int64_t draw(const double* x, double uniform)
{
    double* w = weight.data();
    for (int64_t b = 0; b <= K / L; b++) {
        Lanes value;
        memcpy(&value, &ratio[b * L], sizeof value);
        distances(blocks[b], x, &value);
        memcpy(w + b * L, &value, sizeof value);
    }
    double highest = -1e300, total = 0;
    for (int64_t k = 0; k <= K; k++) {
        w[k] = constant[k] - half[k] * std::log1p(w[k]);
        highest = std::max(highest, w[k]);
    }
    for (int64_t k = 0; k <= K; k++) total += w[k] = std::exp(w[k] - highest);
    double threshold = uniform * total;
    int64_t k = 0;
    while (k < K && (threshold -= w[k]) > 0) k++;
    return k;
}

static void put_back(int64_t i, int64_t k)
{
    if (k == K) {
        K++;
        name[k] = free_names.back();
        free_names.pop_back();
        place[name[k]] = k;
        if (K == int64_t(name.size())) grow(K + 1);
    }
    z[i] = name[k];
    change(k, &X[i * D], 1);
}

template <typename Number> static void read(const char* path, std::vector<Number>& values)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    values.resize(file ? int64_t(file.tellg()) / sizeof(Number) : 0);
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(values.data()), values.size() * sizeof(Number))) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
}

static void read_labels(const char* path)
{
    read(path, z);
    if (z.size() != X.size() / D) {
        fprintf(stderr, "%s must hold one label for each item\n", path);
        exit(1);
    }
    K = *std::max_element(z.begin(), z.end()) + 1;
    grow(K + 1);
    free_names.clear();
    for (int64_t k = 0; k < int64_t(name.size()); k++) name[k] = place[k] = k;
    for (int64_t k = name.size(); k-- > K;) free_names.push_back(k);
}

static void set_table()
{
    constant_of.resize(X.size() / D + 1);
    for (size_t m = 0; m < constant_of.size(); m++) {
        double kappa_n = kappa + m, h = 0.5 * (nu + m + 1);
        constant_of[m] = std::log(m ? double(m) : alpha) + std::lgamma(h) - std::lgamma(h - 0.5 * D)
                         + 0.5 * D * std::log(kappa_n / ((kappa_n + 1) * M_PI));
    }
}

int main(int argc, char** argv)
{
    if (argc != 11) {
        fprintf(stderr, "usage: %s DATA LABELS SWEEPS BURN SEED ALPHA MU KAPPA SCALE NU\n", argv[0]);
        return 1;
    }
    int sweeps = atoi(argv[3]), burn = atoi(argv[4]);
    std::mt19937_64 generator(atoi(argv[5]));
    std::uniform_real_distribution<double> uniform(0, 1);
    alpha = atof(argv[6]), mu = atof(argv[7]), kappa = atof(argv[8]), scale = atof(argv[9]), nu = atof(argv[10]);
    read(argv[1], X);
    set_table();
    read_labels(argv[2]);
    form_anew();

    int64_t n = z.size();
    double total_clusters = 0, moved = 0;
    clock_t start = clock();
    for (int sweep = 0; sweep < sweeps; sweep++) {
        if (sweep % 100 == 99) form_anew();  // so that rounding does not build up
        for (int64_t i = 0; i < n; i++) {
            int64_t old = z[i];
            take_out(i);
            put_back(i, draw(&X[i * D], uniform(generator)));
            moved += z[i] != old;
        }
        if (sweep >= burn) total_clusters += K;
    }
    double seconds = double(clock() - start) / CLOCKS_PER_SEC;
    fprintf(stderr, "%.6f s/1000 sweeps  E[K]=%.4f  moved=%.6f  K=%ld\n", seconds / sweeps * 1000,
            total_clusters / (sweeps - burn), moved / sweeps / n, long(K));
}
